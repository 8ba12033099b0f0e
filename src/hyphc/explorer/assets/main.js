/* Entry point. One global name, for the console: explorer.select(node), explorer.setCut(k), explorer.model.csv(node), … */

window.explorer = new Explorer(JSON.parse(document.getElementById("data").textContent));
window.explorer.parts = { View, Model, Scene, Picture, Svg };
window.explorer.start();
