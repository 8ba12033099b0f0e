"""Readers under fire: any bytes in, a result or an error of ours out, in bounded time and memory."""
