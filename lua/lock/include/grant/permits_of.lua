-- permits_of(code): how many permits a code stands for; nil if it is that of another mode.
local function permits_of(code) return tonumber(string.match(code, '^p(%d+)$')) end
