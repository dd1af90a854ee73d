#!lua name=benchlib
-- The library that valkey-benchmark's own FCALL test loads, with the function it calls.
local function foo1(keys, args)
  return keys[0]
end
server.register_function('foo1', foo1)
