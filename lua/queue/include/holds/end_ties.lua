-- end_ties(ctx, id, record, how): end what a task that has ended may hold still: its keys, its deadline, its place among those of its
-- ordering key; and answer those that wait for its reply, unless there is an answer. What was done before is not done again.
local function end_ties(ctx, id, record, how)
  local tied = record.ties and release_holds(ctx, id, (how == 'completed' or how == 'result_dropped') and 'c' or 'f')
  if tied and redis.call('EXISTS', reply .. id) == 0 then
    local word, value = how, ''
    if how == 'dead' then word, value = 'dead ' .. (record.reason or 'damaged'), record.error or '' end
    if how == 'completed' then
      local fits = redis.call('STRLEN', result .. id) <= 4096
      word, value = fits and how or 'result_dropped', fits and redis.call('GET', result .. id) or ''
    end
    answer_waiters(ctx, id, word, value)
  end
end
