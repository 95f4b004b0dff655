-- find_full(conf, limited): the first of these limits that lets no task start now, and the score of its line until it does; nil if all let one.
local function find_full(conf, limited)
  read_rates(limited)
  for _, limit in ipairs(limited) do
    local room, look_ms = room_left(conf, limit)
    if room == 0 then return limit, look_ms end
  end
end
