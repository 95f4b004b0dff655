-- record_step(ctx, own, event, by, detail, why): note a step of a change in its log, as an event, and as its next `seq`. by: who did it;
-- detail: `name=value` words, or ''; why: free text for the log alone, or ''. What time, delegations, and policies do has no caller.
-- EARLY
local function record_step(ctx, own, event, by, detail, why)
  local acts = by ~= 'time' and by ~= 'delegation' and string.sub(by, 1, 7) ~= 'policy:'
  local sender = acts and ctx.caller or ''
  set_field(own, 'seq', own.seq + 1)
  redis.call('XADD', logs .. own.id, 'MAXLEN', 1000, '*', 'event', event, 'timestamp', ctx.now_text, 'rev', own.rev, 'round', own.round,
    'by', by, 'detail', detail, 'reason', why, 'proof', acts and ctx.proof or '', 'caller', sender)
  if text_of(own, 'p_follows') ~= '' then note_follow(ctx, own, event) end
  emit(ctx, event, own.id, 'rev=' .. own.rev .. ' round=' .. own.round .. ' by=' .. by .. (sender ~= '' and ' caller=' .. sender or '')
    .. (detail ~= '' and ' ' .. detail or ''))
end
