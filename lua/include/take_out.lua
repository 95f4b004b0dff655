-- take_out(conf, wanted, counts, there): remove the first counts[i] tasks of each lane. A lane that still has tasks keeps
-- a wake-up token, for a worker that is free.
local function take_out(conf, wanted, counts, there)
  for i, lane in ipairs(wanted) do
    local count = counts[i] or 0
    if count > 0 then redis.call('ZREMRANGEBYRANK', ready .. lane, 0, count - 1) end
    if there[i] > count then
      push_wake(conf, lane)
    elseif count > 0 then
      lane_emptied(conf, lane)
    end
  end
end
