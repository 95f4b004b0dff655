-- has_lapsed(ctx, own): whether no reader came for so long that the group holds no events.
local function has_lapsed(ctx, own)
  return own.lapsed == '1' or ctx.now - tonumber(own.read_ms) >= ctx.settings.lapse_ms
end
