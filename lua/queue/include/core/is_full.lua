-- is_full(): whether the server has reached its maxmemory. Asked only for large results: INFO takes a few microseconds. It is
-- asked between writes, where nothing may fail: a user who may not use INFO is taken for one whose server is not full.
local function is_full()
  local info = redis.pcall('INFO', 'memory')
  if type(info) ~= 'string' then return false end
  local used, max = string.match(info, 'used_memory:(%d+)'), string.match(info, 'maxmemory:([1-9]%d*)')
  return max and tonumber(used) >= tonumber(max)
end
