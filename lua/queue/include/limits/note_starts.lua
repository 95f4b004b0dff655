-- note_starts(ctx): store the GCRA times of all rates that this claim has used.
local function note_starts(ctx)
  local due = {}
  for i, limit in ipairs(ctx.started) do
    due[2 * i - 1], due[2 * i] = string.format('%.3f', limit.next_ms), limit.key
  end
  for first = 1, #due, 7000 do redis.call('ZADD', rates, unpack(due, first, math.min(first + 6999, #due))) end
end
