-- Uses CPU for about a quarter of a millisecond, and does nothing else.
local x = 0
for i = 1, 30000 do x = x + i end
return x
