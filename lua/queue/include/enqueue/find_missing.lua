-- find_missing(ctx, ids, stamp): the first of these ids whose task does not exist, or is created by a later item of
-- this call; nil if all exist. Ids that were found are not looked up again in this call.
local function find_missing(ctx, ids, stamp)
  for _, id in ipairs(ids) do
    if not ctx.there[id] then
      local row = redis.call('HMGET', task .. id, 'created_ms', 'rid')
      if not row[1] or is_later(row[2], stamp) then return id end
      ctx.there[id] = true
    end
  end
end
