-- find_full(ctx, limited): the first of these limits that is full now, and the score of its queue in limit_lines; nil
-- if none is full.
local function find_full(ctx, limited)
  if limited.rated then read_rates(limited) end
  for _, limit in ipairs(limited) do
    local room, recheck_at_ms = room_left(ctx, limit)
    if room == 0 then return limit, recheck_at_ms end
  end
end
