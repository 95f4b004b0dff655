-- some_lanes(): the names of some lanes that hold tasks, about 100; none only if there are none, or very many have just gone.
-- NEEDS lanes
local function some_lanes()
  local page = { '0' }
  for _ = 1, 10 do
    page = redis.call('SSCAN', lanes, page[1], 'COUNT', 100)
    if #page[2] > 0 or page[1] == '0' then break end
  end
  return page[2]
end
