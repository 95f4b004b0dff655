-- replayed_one(ctx, verb): what the same call to one change was answered in the last minute, with the time of now; or nil.
-- EARLY
local function replayed_one(ctx, verb)
  local answers = replayed_reply(ctx, verb)
  if answers then
    table.insert(answers[1], 2, ctx.now)
    return answers[1]
  end
end
