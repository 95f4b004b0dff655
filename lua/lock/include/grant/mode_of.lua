-- mode_of(mode, permits): the code of a mode in `graph`: `x`, `s`, or `p` and the number of permits.
local function mode_of(mode, permits)
  return mode == 'exclusive' and 'x' or mode == 'shared' and 's' or string.format('p%.0f', permits)
end
