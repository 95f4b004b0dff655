-- set_field(own, name, value): change a field of a change; save_change stores it.
-- EARLY
local function set_field(own, name, value)
  own[name] = value
  own.changed[#own.changed + 1] = name
  own.changed[#own.changed + 1] = value
end
