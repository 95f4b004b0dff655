-- next_fence(ctx): a new fence, larger than all earlier ones, even after the server lost its last second of writes:
-- fences are at least the time in µs; as text.
local function next_fence(ctx)
  ctx.fence = math.max(ctx.fence + 1, ctx.now * 1000)
  return string.format('%.0f', ctx.fence)
end
