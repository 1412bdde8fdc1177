"""`make bench`: what a request, a start and a connection cost (DESIGN section 12).

Every figure is CPU time of the server process, taken from the kernel, as the median of
interleaved rounds against a bare aiohttp application answering the same bytes; never requests
per second of one run. Targets are printed beside the figures and decide nothing.
"""
