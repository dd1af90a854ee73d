#!/bin/sh
# Readiness of a Sentinel: it answers.
. "${0%/*}/node.sh"
kept && echo PING | tell localhost 5 26379 | grep -q PONG
