-- find_missing(conf, ids, stamp): the first of these tasks that there is not, or that a later item of the call makes; nil if
-- all are there. Those that are there are not looked up again in this call.
-- NEEDS task
local function find_missing(conf, ids, stamp)
  local call, index = string.match(stamp, '^(.*)/(%d+)$')
  for _, id in ipairs(ids) do
    if not conf.there[id] then
      local row = redis.call('HMGET', task .. id, 'created_ms', 'rid')
      local by, at = string.match(row[2] or '', '^(.*)/(%d+)$')
      if not row[1] or (by == call and tonumber(at) > tonumber(index)) then return id end
      conf.there[id] = true
    end
  end
end
