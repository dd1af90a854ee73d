-- Reads the password from a file, and reads it again when the file changes. So a new password needs no restart of a
-- proxy. Argument: the file. HAProxy's checks use the variable proc.password.
local file = ...
local PAUSE_MS = 1000

local function read()
  local opened = io.open(file, "rb")
  if not opened then return nil end
  local text = opened:read("a")
  opened:close()
  return text
end

local function hexadecimal(text)
  return (text:gsub(".", function(character) return ("%02x"):format(character:byte()) end))
end

-- Only HAProxy's control socket can set this variable. The socket answers with an empty line, or with an error message.
local function set(password)
  local socket = core.tcp()
  socket:settimeout(5)
  if not socket:connect("abns@control") then return false end
  socket:send("experimental-mode on; set var proc.password bin(" .. hexadecimal(password) .. ")\n")
  local answer = socket:receive("*a")
  socket:close()
  return answer ~= nil and not answer:find("%S")
end

core.register_task(function()
  local known
  while true do
    local found = read()
    if found ~= nil and found ~= known then
      if set(found) then
        known = found
      else
        core.Alert("the proxy could not take the password in " .. file)
      end
    end
    core.msleep(PAUSE_MS)
  end
end)
