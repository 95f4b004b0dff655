-- read_open(ids): the ids among these (separated by spaces) whose tasks have not ended.
local function read_open(ids)
  local open = {}
  for id in string.gmatch(ids, '%S+') do
    local there = redis.call('HEXISTS', task .. id, 'created_ms') == 1
    if there and not redis.call('ZSCORE', finished, id) and not redis.call('ZSCORE', dead, id) then open[#open + 1] = id end
  end
  return open
end
