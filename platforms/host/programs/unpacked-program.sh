#!/bin/sh
# Runs a program of unpacked packages through the loader and the libraries of the same tree, wherever the tree is.
# debian-packages.ts writes a copy of this script for each program, with the words between @ replaced.
tree=${0%/bin/*}
root=$tree/root
exec "$root/@loader@" --argv0 @program@ --library-path "@libraries@" "$root/usr/bin/@program@" "$@"
