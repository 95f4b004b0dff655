-- told(ctx, verb, own, answer): end a writing call to one change: store the change, if there is one, and the answer.
-- EARLY
local function told(ctx, verb, own, answer)
  if own then save_change(ctx, own) end
  take_others(ctx, 10)
  note_reply(ctx, verb, { answer })
  table.insert(answer, 2, ctx.now)
  return answer
end
