-- next_fence(ctx): a fence above all that were given out before, even if the last second was lost; as text.
local function next_fence(ctx)
  ctx.fence = math.max(ctx.fence + 1, ctx.now * 1000)
  return string.format('%.0f', ctx.fence)
end
