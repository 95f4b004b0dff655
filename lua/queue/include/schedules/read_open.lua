-- read_open(ids): the ids among these (separated by spaces) whose tasks have not ended. A task of somebody else that has got the id of one
-- which is gone does not count.
local function read_open(ids)
  local open = {}
  for id in string.gmatch(ids, '%S+') do
    local there = redis.call('HMGET', task .. id, 'created_ms', 'schedule')
    if there[1] and there[2] == name and not redis.call('ZSCORE', finished, id) and not redis.call('ZSCORE', dead, id) then open[#open + 1] = id end
  end
  return open
end
