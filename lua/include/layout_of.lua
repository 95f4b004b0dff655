-- layout_of(): the layout that is written, and that in which everything is; 0 and 0 where nothing is stored.
-- NEEDS config
local function layout_of()
  local row = redis.call('HMGET', config, 'layout', 'rewritten')
  return tonumber(row[1] or 0), tonumber(row[2] or row[1] or 0)
end
