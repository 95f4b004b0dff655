-- mode_of(mode, permits): a mode as the graph has it: `x`, `s`, or `p` and the number of permits.
local function mode_of(mode, permits)
  return mode == 'exclusive' and 'x' or mode == 'shared' and 's' or string.format('p%.0f', permits)
end
