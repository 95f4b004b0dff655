-- note_starts(ctx): write when the rates of limits let the next tasks start, after this claim's.
local function note_starts(ctx)
  local due = {}
  for i, limit in ipairs(ctx.started) do
    due[2 * i - 1], due[2 * i] = string.format('%.3f', limit.next_ms), limit.key
  end
  for first = 1, #due, 7000 do redis.call('ZADD', rates, unpack(due, first, math.min(first + 6999, #due))) end
end
