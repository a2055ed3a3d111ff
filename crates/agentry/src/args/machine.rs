//! What can be typed about this machine and its settings.

use clap::Args as ClapArgs;

use super::ResultFormat;

#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArguments {
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ModelsArguments {
    /// Ask hosted providers which models they have, too, not only servers on this machine
    #[arg(long)]
    pub(crate) live: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigArguments {
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}
