#!/bin/sh
# Ends the service before its program goes; an upgrade starts it again afterwards.
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
	systemctl disable --now tipstaff.socket tipstaff.service tipstaff-gateway.service tipstaff-runner.service || true
fi
