-- next_fence(conf): a fence above all that were given out before, even if the last second was lost; as text.
local function next_fence(conf)
  conf.fence = math.max(conf.fence + 1, conf.now * 1000)
  return string.format('%.0f', conf.fence)
end
