-- open_to_configure(clock): open a call that may create the base with this clock; or nil and the error to return, also
-- if the base has the other clock.
local function open_to_configure(clock)
  local ctx, refused = open(clock)
  if refused then return nil, refused end
  local stored = ctx.settings.clock
  if stored and clock ~= 'keep' and clock ~= stored then
    return nil, redis.error_reply('ADEQ_CONFLICT clock is ' .. stored .. ' since this ' .. NOUN_FIELD
      .. ' was created, and cannot become ' .. clock)
  end
  return ctx
end
