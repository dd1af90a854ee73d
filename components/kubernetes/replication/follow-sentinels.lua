-- Sends clients only to the primary that Sentinels name. Arguments: the file with the password for Sentinels, the name of the deployment,
-- and the number of Sentinels. HAProxy's proxies sentinel-0, sentinel-1, ... connect to the Sentinels. The weight of a server decides: clients
-- reach only the server whose weight is 1.
--
-- The primary is the server that most of all Sentinels name. During a failover it is the replica that the leading Sentinel promotes, as
-- soon as that replica says that it is a primary: most Sentinels name it about a second later. If most Sentinels do not answer, clients
-- still reach the server that most Sentinels named last.
local file, name, count = ...
count = tonumber(count)
local PAUSE_MS = 100
local TIMEOUT_SECONDS = 1

local views = {}
local chosen
local found = false

local function servers() return core.backends.primary.servers end

-- Whether a server has answered the check, which asks whether it is a primary. The status of a server with the weight 0 is DRAIN.
local function is_primary(server) return not server:get_stats().status:find("^[DM][OA]") end

-- Makes a server the only one that clients reach, and closes the connections to the others.
local function lead_to(host)
  for other, server in pairs(servers()) do
    server:set_weight(other == host and "1" or "0")
  end
  for other, server in pairs(servers()) do
    if other ~= host then server:shut_sess() end
  end
  chosen = host
  core.log(core.notice, "clients are sent to " .. host)
end

local function decide()
  local votes, wanted = {}, nil
  for _, view in pairs(views) do
    votes[view.named] = (votes[view.named] or 0) + 1
    if votes[view.named] * 2 > count then wanted = view.named end
  end
  for _, view in pairs(views) do
    local promoted = view.promoted and servers()[view.promoted]
    if promoted and is_primary(promoted) then wanted = view.promoted end
  end
  if wanted and wanted ~= chosen and servers()[wanted] then lead_to(wanted) end
  found = found or (chosen ~= nil and is_primary(servers()[chosen]))
end

-- Reads an answer of a Sentinel: a text, or a list of answers. It is nil for an error or for nothing.
local function read(socket)
  local line = assert(socket:receive("*l"))
  local kind, rest = line:sub(1, 1), line:sub(2):gsub("\r$", "")
  local length = tonumber(rest)
  if kind == "$" and length >= 0 then return assert(socket:receive(length + 2)):sub(1, length) end
  if kind == "*" and length >= 0 then
    local list = {}
    for index = 1, length do list[index] = read(socket) or "" end
    return list
  end
  return kind == "+" and rest or nil
end

-- The replica that a Sentinel promotes, among the replicas that it lists.
local function promoted_in(replicas)
  for _, replica in ipairs(replicas or {}) do
    local fields = {}
    for index = 1, #replica, 2 do fields[replica[index]] = replica[index + 1] end
    if fields.flags:find("promoted", 1, true) then return fields.ip end
  end
end

local function command(...)
  local words = { ... }
  for index, word in ipairs(words) do words[index] = "$" .. #word .. "\r\n" .. word .. "\r\n" end
  return "*" .. #words .. "\r\n" .. table.concat(words)
end

local QUESTIONS = command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name) .. command("SENTINEL", "REPLICAS", name)

-- Asks one Sentinel again and again, until it does not answer.
local function ask(index)
  local socket <close> = setmetatable({ core.tcp() }, { __close = function(list) list[1]:close() end })
  local sentinel = socket[1]
  sentinel:settimeout(TIMEOUT_SECONDS)
  assert(sentinel:connect("abns@sentinel-" .. index) == 1)
  local opened = assert(io.open(file, "rb"))
  local password = opened:read("a")
  opened:close()
  sentinel:send(command("AUTH", password))
  assert(read(sentinel) == "OK")
  while true do
    sentinel:send(QUESTIONS)
    local address, promoted = read(sentinel), promoted_in(read(sentinel))
    views[index] = address and { named = address[1], promoted = promoted }
    decide()
    core.msleep(PAUSE_MS)
  end
end

for index = 0, count - 1 do
  core.register_task(function()
    local reason
    while true do
      local _, failure = pcall(ask, index)
      views[index] = nil
      if failure ~= reason then core.log(core.warning, "Sentinel " .. index .. " does not answer: " .. tostring(failure)) end
      reason = failure
      core.msleep(PAUSE_MS)
    end
  end)
end

-- Whether this proxy has found a primary since it started.
core.register_fetches("found", function() return found end)
