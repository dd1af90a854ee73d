# Writes numbered values for ever, and appends number and reply of each write to /journal/answers.
# Environment: HOST, the Service. Each write is a client of its own, which starts at the Service and follows redirects.
tell() { { cat /secret/password; echo; cat; } | timeout 5 valkey-cli -h "$HOST" -c --askpass --no-auth-warning 2>&1; }
number=0
while :; do
  number=$((number + 1))
  answer=$(echo "SET number:$number $number" | tell | tail -n 1)
  echo "$number $answer" >>/journal/answers
done
