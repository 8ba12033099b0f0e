"""Fuzzing of all readers: any bytes must give a result or an error of ours, in bounded time and memory."""
