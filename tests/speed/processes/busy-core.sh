#!/bin/sh
# busy-core.sh: keeps a core busy
while :; do :; done
