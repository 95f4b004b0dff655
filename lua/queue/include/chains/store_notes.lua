-- store_notes(ctx): store the notes of this call that were not carried out. A later call goes on.
local function store_notes(ctx)
  local rows = {}
  for i, note in ipairs(ctx.notes or {}) do rows[2 * i - 1], rows[2 * i] = ctx.now_text, note end
  for first = 1, #rows, 7000 do redis.call('ZADD', ends, unpack(rows, first, math.min(first + 6999, #rows))) end
  ctx.notes = nil
end
