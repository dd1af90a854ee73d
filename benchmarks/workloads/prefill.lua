-- Fills, counts or removes one slice of the keys that a test needs, on the node that serves them.
-- ARGV[1] is a JSON object (the type KeySlice of key-slices.ts):
--   action     "fill", "count" or "remove"
--   kind       "numbered" (one string for each number), "sorted-sets" (one sorted set for each number), or a collection
--              with one element for each number: "list", "set", "hash", "zset"; "any" is a key of any type
--   family     beginning of the names of the keys
--   infixes    texts that follow the family in the names of the keys: a hash tag for each slot, or one empty string
--   first      first number
--   last       last number
--   numberFormat  format of the number at the end of a key's name
--   value      value of a string, of a hash field or of a list element
--   valueSizes    optional: sizes in bytes that numbered strings take in turn, in place of `value`
--   members    number of members of each sorted set
--   slots      optional: ranges [from, to] of slots that this node serves; keys of all other slots are skipped
-- Returns the number of keys or elements that were written, of keys that exist, or of keys that were removed.
local slice = cjson.decode(ARGV[1])
local call = redis.call
local done = 0

local served = nil
if slice.slots then
  served = {}
  for _, range in ipairs(slice.slots) do
    for slot = range[1], range[2] do served[slot] = true end
  end
end

local function is_served(key)
  return served == nil or served[call('CLUSTER', 'KEYSLOT', key)]
end

local function element(number)
  return string.format('element:%012d', number)
end

local function count(key) done = done + call('EXISTS', key) end
local function remove(key) done = done + call('UNLINK', key) end

-- The factor is prime, so that neighbouring keys have different sizes.
local function string_value(number, place)
  if not slice.valueSizes then return slice.value end
  return string.rep('x', slice.valueSizes[((number + place) * 7919) % #slice.valueSizes + 1])
end

local function fill_string(key, number, place)
  call('SET', key, string_value(number, place))
  done = done + 1
end

local function fill_sorted_set(key)
  for member = 0, slice.members - 1 do call('ZADD', key, member, element(member)) end
  done = done + 1
end

-- Each call pushes many elements, because a call costs ten times as much as an element.
local function fill_list(key)
  local batch = math.max(1, math.min(500, math.floor(2 ^ 20 / math.max(1, #slice.value))))
  local copies = {}
  for n = 1, batch do copies[n] = slice.value end
  for n = slice.first, slice.last, batch do
    local pushed = math.min(batch, slice.last - n + 1)
    call('RPUSH', key, unpack(copies, 1, pushed))
    done = done + pushed
  end
end

local function fill_collection(key)
  for n = slice.first, slice.last do
    if slice.kind == 'set' then call('SADD', key, element(n))
    elseif slice.kind == 'hash' then call('HSET', key, element(n), slice.value)
    else call('ZADD', key, n, element(n)) end
    done = done + 1
  end
end

local is_numbered = slice.kind == 'numbered' or slice.kind == 'sorted-sets'
local act = slice.action == 'count' and count or slice.action == 'remove' and remove
  or slice.kind == 'numbered' and fill_string or slice.kind == 'sorted-sets' and fill_sorted_set
  or slice.kind == 'list' and fill_list or fill_collection

for place, infix in ipairs(slice.infixes) do
  local key = slice.family .. infix
  if is_numbered then
    for n = slice.first, slice.last do
      local name = key .. string.format(slice.numberFormat, n)
      if is_served(name) then act(name, n, place) end
    end
  else
    act(key)
  end
end
return done
