-- remove_ready(ctx, wanted, numbers, there): remove the first numbers[i] tasks of each lane. A lane that still has tasks keeps
-- a wake-up token, for a worker that is free.
local function remove_ready(ctx, wanted, numbers, there)
  for i, lane in ipairs(wanted) do
    local count = numbers[i] or 0
    if count > 0 then redis.call('ZREMRANGEBYRANK', ready .. lane, 0, count - 1) end
    if there[i] > count then
      push_wake(ctx, lane)
    elseif count > 0 then
      lane_emptied(ctx, lane)
    end
  end
end
