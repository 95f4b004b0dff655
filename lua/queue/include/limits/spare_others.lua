-- spare_others(ctx, limited, full): note the limits of a task that do not let it start because another one is full: it may
-- have been let go for them, and another task may start instead.
local function spare_others(ctx, limited, full)
  for _, other in ipairs(limited) do
    if other ~= full then ctx.spared[#ctx.spared + 1] = other.key end
  end
end
