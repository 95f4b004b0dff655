-- chains_on_end(ctx, id, own, how): note the end for the parent that gathers the task, and for the tasks that wait for it.
-- READS awaited gathered parent
-- WHEN own.awaited or own.gathered
local function chains_on_end(ctx, id, own, how)
  redis.call('HDEL', task .. id, 'awaited', 'gathered')
  local well = how == 'completed' or how == 'result_dropped'
  note_end(ctx, well and 'c' or 'f', id, own.gathered and own.parent .. ' ' .. own.gathered, nil, not own.awaited)
end
