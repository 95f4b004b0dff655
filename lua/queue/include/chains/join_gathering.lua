-- join_gathering(ctx, own, parent): if the parent waits for its children, note in the record of a new child that it
-- counts, and the place of the parent, because a later task may have the same id. A call looks at each parent once.
local function join_gathering(ctx, own, parent)
  if ctx.gathers[parent] == nil then
    local score = redis.call('ZSCORE', blocked, parent)
    local row = score and redis.call('HMGET', task .. parent, 'gather', 'limited_by') or {}
    ctx.gathers[parent] = row[1] and not row[2] and string.format('%.0f', score % BAND) or false
  end
  if ctx.gathers[parent] then
    own.gathered = true
    own[#own + 1], own[#own + 2] = 'gathered', ctx.gathers[parent]
  end
end
