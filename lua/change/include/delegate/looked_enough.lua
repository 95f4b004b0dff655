-- looked_enough(ctx): whether this call has compared so much that it ends here, with the rest for the next one. How much is done in a call
-- depends on it, but nobody's request. It is about 60 ms of work.
local function looked_enough(ctx)
  return ctx.looked > 500000
end
