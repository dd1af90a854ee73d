#!/bin/sh
# Runs a program of unpacked packages with the loader and the libraries of the same tree. The tree may be anywhere.
# debian-packages.ts writes a copy of this script for each program and replaces the words between @ signs.
tree=${0%/bin/*}
root=$tree/root
exec "$root/@loader@" --argv0 @program@ --library-path "@libraries@" "$root/@path@" "$@"
