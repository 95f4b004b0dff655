-- stale_of(key, count, floor): how many of the times at the end of a list of this length are before `floor`. The first is not.
local function stale_of(key, count, floor)
  local low, high, at = 0, count, 1
  while low + 1 < high do  -- at most 26: doublings and halvings below 5,000
    if tonumber(redis.call('LINDEX', key, -at)) < floor then
      low, at = at, 2 * at
    else
      high = at
    end
    if at >= high then at = math.floor((low + high) / 2) end
  end
  return low
end
