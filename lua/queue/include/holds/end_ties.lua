-- end_ties(ctx, id, record, how): for a repaired task that has ended: run on_end, and publish its reply if that is
-- missing. Can be called twice.
local function end_ties(ctx, id, record, how)
  if not record.ties then return end
  local value
  if record.reply and redis.call('EXISTS', reply .. id) == 0 then
    value = how == 'dead' and record.error or ''
    if how == 'completed' and redis.call('STRLEN', result .. id) > 4096 then
      how = 'result_dropped'
    elseif how == 'completed' then
      value = redis.call('GET', result .. id) or ''
    end
  end
  if how == 'dead' then how = 'dead ' .. (record.reason or 'damaged') end
  on_end(ctx, id, how, value)
end
