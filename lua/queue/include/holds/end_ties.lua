-- end_ties(ctx, id, record, how): end what a task that has ended may still hold, see on_end. The clients that wait for its reply
-- get an answer, unless they have one. What was done before is not done again.
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
