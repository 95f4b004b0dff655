-- note_run(ctx, id, ran, outcome, reason, error): keep how a run of a task has ended that did not complete it, for `runs`.
-- The last 20 are kept. reason and error may be empty.
local function note_run(ctx, id, ran, outcome, reason, error)
  local entry = ran .. ' ' .. ctx.now_text .. ' ' .. outcome .. ' ' .. reason .. ' ' .. error
  if redis.call('RPUSH', ended_runs .. id, entry) > 20 then redis.call('LTRIM', ended_runs .. id, -20, -1) end
end
