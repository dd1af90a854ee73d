#!lua name=benchlib
-- The function library of valkey-benchmark's FCALL test, with the function that this test calls.
local function foo1(keys, args)
  return keys[0]
end
server.register_function('foo1', foo1)
