#!/bin/sh
# ExecStopPost= of the units: sleeps before systemd restarts the service, longer after each
# failure, up to five seconds. A minute without a failure, or a stop, resets the pause.
[ "$SERVICE_RESULT" != success ] || exit 0
file=$RUNTIME_DIRECTORY/failures
read -r up _ </proc/uptime
up=${up%.*}
failures=0 last=-1000
[ ! -r "$file" ] || read -r failures last <"$file"
if [ $((up - last)) -lt 60 ]; then failures=$((failures + 1)); else failures=0; fi
echo "$failures $up" >"$file"
case $EXIT_CODE:$EXIT_STATUS in
# The store can't be read, or is another daemon's: that lasts. Wrong flags or a wrong configuration:
# only a connection to the socket starts it again.
exited:74 | exited:75 | exited:2 | exited:78) pause=5 ;;
*) case $failures in
  0) pause=0 ;; 1) pause=0.2 ;; 2) pause=0.5 ;; 3) pause=1 ;; 4) pause=2 ;; *) pause=5 ;;
  esac ;;
esac
exec sleep "$pause"
