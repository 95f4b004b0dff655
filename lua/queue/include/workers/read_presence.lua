-- read_presence(): for how many ms a worker may be silent and still counts as alive.
local function read_presence()
  return tonumber(redis.call('HGET', config, 'presence_ms') or DEFAULT_presence_ms)
end
